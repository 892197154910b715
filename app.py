"""Attribution Lab: explanations of neural networks beside the ground truth. Run: streamlit run app.py"""

from pages.components.shared import frame

frame.run()
