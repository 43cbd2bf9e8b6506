"""What `inquest try` needs before anything is investigated: a Prometheus that nobody has connected yet.

moment       when: --at
access       how the two sources are reached, from the options of the command line
door         asking one of them; what is wrong is said in a line that names the URL and the way out
reading      what fires there now, or fired then: three reads at most
choosing     which alert is investigated, and which others there are
found        what all of this came to
installation the configuration of the run
posting      the posts that an Alertmanager would have sent of it
"""
