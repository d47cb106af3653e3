"""The report page: one HTML file that needs neither a server nor the network.

``make`` collects the content as plain values, which ``templates/page.html.j2`` displays; its
script selects, sorts and draws them.
"""

INDEX = "index.html"
