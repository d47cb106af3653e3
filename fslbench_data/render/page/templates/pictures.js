
// ---- a hard task in pictures: that of the chosen task set, or else of its data set

function picture(name) {
  $("pictured").value = name;
  for (const task of document.querySelectorAll("#pictures .task")) task.hidden = task.dataset.set !== name;
}
function pictureChosen() {
  const names = [...$("pictured").options].map((option) => option.value);
  const name = names.find((each) => each === `${state.dataset}/${state.task_set}`) || names.find((each) => each.startsWith(`${state.dataset}/`));
  if (name) picture(name);
}
for (const id of ["dataset", "shot", "task_set"]) $(id).addEventListener("change", pictureChosen);
addEventListener("hashchange", pictureChosen);
$("pictured").addEventListener("change", (event) => picture(event.target.value));
picture($("pictured").value);
pictureChosen();
