-- Is n_correct the number of queries that are right? Of the first task set with a contradiction.
SELECT row, "group", name, counted, n_correct, count(*) OVER () AS total
FROM contradictions
WHERE counted <> n_correct
ORDER BY row
LIMIT 8
