-- What does a submission answer? As the table `results` of `fslbench sql`, for the view `by_task`:
-- `method` is the number of a method and task set, whose names need not be told apart here.
--
-- reads   rows: group, task_id, n_correct, n_query
--         groups: group, answer, run
SELECT
    0      AS dataset,
    0      AS task_set,
    answer AS method,
    false  AS is_reference,
    run,
    task_id,
    n_correct,
    r.n_query
FROM rows AS r
JOIN groups USING ("group")
