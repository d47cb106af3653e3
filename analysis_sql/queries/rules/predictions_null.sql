-- Is there a null inside a list of predictions, or of which queries are right?
SELECT row, "group", name, count(*) OVER () AS total
FROM predicted
WHERE has_null
ORDER BY row
LIMIT 8
