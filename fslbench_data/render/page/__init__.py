"""The report page: one HTML file that needs neither a server nor the network.

:func:`make.page_content` collects plain values; ``templates/page.html.j2`` displays them, and its
script selects, sorts and draws.
"""

INDEX = "index.html"
