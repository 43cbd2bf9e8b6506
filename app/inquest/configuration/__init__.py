"""The configuration file: its shape (`sections`) and its reader (`file`)."""
