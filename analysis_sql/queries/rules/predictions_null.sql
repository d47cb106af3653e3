-- Is there a null inside a list of predictions?
SELECT "group"
FROM rows
WHERE list_count(predictions) < len(predictions)
ORDER BY rows.rowid
LIMIT 1;
SELECT r.rowid AS row, "group", count(*) OVER () AS total
FROM rows AS r
WHERE list_count(predictions) < len(predictions)
ORDER BY row
LIMIT 8
