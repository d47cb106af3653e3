-- Is there a null inside a list of predictions?
SELECT "group" FROM predicted WHERE has_null ORDER BY row LIMIT 1;
SELECT row, "group", count(*) OVER () AS total
FROM predicted
WHERE has_null
ORDER BY row
LIMIT 8
