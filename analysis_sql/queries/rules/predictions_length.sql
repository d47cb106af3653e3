-- Has each list of predictions as many entries as the task has queries?
SELECT "group"
FROM rows
JOIN groups AS g USING ("group")
WHERE len(predictions) <> g.n_query
ORDER BY rows.rowid
LIMIT 1;
SELECT r.rowid AS row, "group", len(predictions) AS length, count(*) OVER () AS total
FROM rows AS r
JOIN groups AS g USING ("group")
WHERE len(predictions) <> g.n_query
ORDER BY row
LIMIT 8
