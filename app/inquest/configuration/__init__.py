"""The configuration file: its shape (`sections`, made of `shape`) and its reader (`file`)."""
