-- Is n_query the number of queries in a task of the row's task set?
SELECT "group"
FROM group_facts
JOIN groups USING ("group")
WHERE fewest_asked <> n_query OR most_asked <> n_query
ORDER BY "group"
LIMIT 1;
SELECT r.rowid AS row, "group", r.n_query, count(*) OVER () AS total
FROM rows AS r
JOIN groups AS g USING ("group")
WHERE r.n_query <> g.n_query
ORDER BY row
LIMIT 8
