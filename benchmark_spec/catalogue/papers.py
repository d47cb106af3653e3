"""The papers whose methods FSLBench implements, as BibTeX."""

INTERVALS = """@article{lafargue2024oops,
  title = {Oops, {I} Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning},
  author = {Lafargue, Raphael and Smith, Luke A. and Vermet, Franck and L{\\"o}we, Matthias and Reid, Ian and Gripon, Vincent and Valmadre, Jack},
  journal = {Transactions on Machine Learning Research},
  year = {2024},
  note = {arXiv:2409.02850}
}"""  # noqa: E501

SPURIOUS_BIAS = """@inproceedings{zheng2024benchmarking,
  title = {Benchmarking Spurious Bias in Few-Shot Image Classifiers},
  author = {Zheng, Guangtao and Ye, Wenqian and Zhang, Aidong},
  booktitle = {European Conference on Computer Vision},
  year = {2024}
}"""

META_DATASET = """@inproceedings{triantafillou2020meta,
  title = {Meta-Dataset: A Dataset of Datasets for Learning to Learn from Few Examples},
  author = {Triantafillou, Eleni and Zhu, Tyler and Dumoulin, Vincent and Lamblin, Pascal and Evci, Utku and Xu, Kelvin and Goroshin, Ross and Gelada, Carles and Swersky, Kevin and Manzagol, Pierre-Antoine and Larochelle, Hugo},
  booktitle = {International Conference on Learning Representations},
  year = {2020}
}"""  # noqa: E501

PAPERS = (INTERVALS, SPURIOUS_BIAS, META_DATASET)
