-- How many rows has each group, and between which bounds lie their numbers?
--
-- reads   rows: group, task_id, n_correct, n_query
SELECT
    "group",
    count(*)       AS answers,
    min(task_id)   AS first_task,
    max(task_id)   AS last_task,
    min(n_correct) AS fewest,
    max(n_correct) AS most,
    sum(n_correct) AS total,
    min(n_query)   AS fewest_asked,
    max(n_query)   AS most_asked
FROM rows
GROUP BY "group"
ORDER BY "group"
