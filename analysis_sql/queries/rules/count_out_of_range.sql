-- Is n_correct a number of the task's queries?
SELECT "group"
FROM group_facts
JOIN groups USING ("group")
WHERE fewest < 0 OR most > n_query
ORDER BY "group"
LIMIT 1;
SELECT r.rowid AS row, "group", n_correct, count(*) OVER () AS total
FROM rows AS r
JOIN groups AS g USING ("group")
WHERE n_correct < 0 OR n_correct > g.n_query
ORDER BY row
LIMIT 8
