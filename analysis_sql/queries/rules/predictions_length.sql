-- Has each list of predictions, or of which are right, as many entries as the task has queries?
SELECT row, "group", name, length, count(*) OVER () AS total
FROM predicted
JOIN groups USING ("group")
WHERE length <> n_query
ORDER BY row
LIMIT 8
