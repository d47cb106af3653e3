"""The report page: one HTML file that needs no server and asks nothing of the network.

``make`` does it all: ``content`` says what it shows as plain values, which
``templates/page.html.j2`` shows, whose script picks, sorts and draws them.
"""

INDEX = "index.html"
