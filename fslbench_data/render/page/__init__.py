"""The report page: one HTML file that needs no server and asks nothing of the network.

``make`` does it all: ``content`` says what it shows as plain values, ``encoding`` makes them
small, ``html`` puts them into the page beside the charts of :mod:`fslbench_data.render.figures`,
``page.css`` and ``page.js``.
"""
