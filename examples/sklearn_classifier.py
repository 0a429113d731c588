"""A text classifier: ELMo below scikit-learn's logistic regression, its layer chosen by search.

python examples/sklearn_classifier.py [MODEL]
"""

import sys

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from elmokit.integrations.sklearn import ElmoVectorizer

MODEL = sys.argv[1] if len(sys.argv) > 1 else "en-small"
TEXTS = ["A great film.", "Wonderful acting!", "I loved it.", "Dull.", "A waste of time.", "Awful!"]
LABELS = ["good", "good", "good", "bad", "bad", "bad"]

pipeline = make_pipeline(ElmoVectorizer(MODEL), LogisticRegression(max_iter=1000))
search = GridSearchCV(pipeline, {"elmovectorizer__mix": [0, 1, 2, "average"]}, cv=3)
search.fit(TEXTS, LABELS)
print("best layer:", search.best_params_["elmovectorizer__mix"])
print("a wonderful film:", search.predict(["a wonderful film"])[0])
