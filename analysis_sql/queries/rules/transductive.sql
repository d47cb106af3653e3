-- Do two rows of a method, or a row and the method's metadata, say different things of it?
SELECT
    method,
    transductive,
    count(*) OVER (PARTITION BY method) > 1 AS by_rows
FROM marks
QUALIFY by_rows OR declared <> transductive
ORDER BY row
LIMIT 1;
SELECT r.rowid AS row, method, transductive, $by_rows AS by_rows, count(*) OVER () AS total
FROM rows AS r
JOIN groups USING ("group")
WHERE method = $method AND transductive = $transductive
ORDER BY row
LIMIT 8
