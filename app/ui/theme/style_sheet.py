"""The few style sheet rules that Fusion and a palette cannot express: flat frames, radii, focus rings.

Labels (tool tips are labels too) show text as it stands: a file may be called ``<img src=x>``, and Qt would draw it.
A widget asks for a look with the dynamic property ``look`` (see ``app.ui.widgets``), never with a sheet of its own.
Lengths are small (hairlines, radii, padding); heights follow the font.
"""

from __future__ import annotations

from string import Template

from app.ui.theme.tokens import Tokens

_RULES = Template("""
QPushButton {
    background: $panel; color: $text; border: 1px solid $line; border-radius: 6px; padding: 4px 12px;
}
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $selection; }
QPushButton:focus { border: 2px solid $focus; padding: 3px 11px; }
QPushButton:disabled { color: $faint; background: $window; }
QPushButton[look="primary"] {
    background: $accent; color: $accent_text; border: 1px solid $accent; padding: 7px 22px; font-weight: 600;
}
QPushButton[look="primary"]:hover { background: $accent_hover; }
QPushButton[look="primary"]:pressed { background: $accent_pressed; }
QPushButton[look="primary"]:focus { border: 2px solid $text; padding: 6px 21px; }
QPushButton[look="primary"]:disabled { background: $chip; color: $faint; border: 1px solid $line; }
QPushButton[look="link"], QPushButton[look="tab"] {
    background: transparent; border: 1px solid transparent; color: $accent; padding: 2px 4px; text-align: left;
}
QPushButton[look="link"]:hover { text-decoration: underline; }
QPushButton[look="tab"] { color: $text_dim; }
QPushButton[look="tab"]:hover { color: $text; }
QPushButton[look="tab"]:checked {
    color: $accent; border-bottom: 2px solid $accent; border-radius: 0; padding-bottom: 1px;
}
QPushButton[look="link"]:focus, QPushButton[look="tab"]:focus {
    border: 1px solid $focus; border-radius: 4px; padding: 2px 4px;
}
QPushButton[look="fold"] { background: transparent; border: 1px solid transparent; color: $text_dim; padding: 3px 6px; }
QPushButton[look="fold"]:hover { color: $text; }
QPushButton[look="fold"]:focus { border: 1px solid $focus; border-radius: 4px; padding: 3px 6px; }
QPushButton[look="large"] { padding: 7px 14px; }
QPushButton[look="large"]:focus { padding: 6px 13px; }
QPushButton[look="icon"] { padding: 4px 7px; }
QPushButton[look="icon"]:focus { padding: 3px 6px; }
QPushButton[look="bare"] { background: transparent; border: 1px solid transparent; padding: 3px; border-radius: 5px; }
QPushButton[look="bare"]:hover { background: $hover; }
QPushButton[look="fact"] { background: transparent; border: 1px solid transparent; padding: 3px; }
QPushButton[look="bare"]:focus { border: 1px solid $focus; padding: 3px; }
QPushButton[look="chip"] {
    background: $chip; color: $text_dim; border: 1px solid $chip; border-radius: 9px; padding: 2px 9px;
}
QPushButton[look="chip"]:hover { color: $text; border: 1px solid $line; }
QPushButton[look="chip"]:focus { border: 1px solid $focus; }
QPushButton::menu-indicator { width: 0; image: none; }

QRadioButton { spacing: 8px; }
QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid $text_dim; border-radius: 8px; }
QRadioButton::indicator:checked { width: 6px; height: 6px; border: 5px solid $accent; }
QRadioButton:focus { color: $accent; }

QLabel { qproperty-textFormat: PlainText; }
QLabel[look="chip"] { background: $chip; color: $text_dim; border-radius: 9px; padding: 2px 9px; }
QLabel[look="dim"] { color: $text_dim; }
QLabel[look="ok"] { color: $ok; font-weight: 600; }
QLabel[look="warning"] { color: $warning; font-weight: 600; }
QLabel[look="error"] { color: $error; font-weight: 600; }

QFrame[look="card"] { background: $panel; border: 1px solid $line; border-radius: 8px; }
QFrame[look="card-over"] { background: $panel; border: 1px solid $error; border-radius: 8px; }
QFrame[look="card-target"] { background: $panel; border: 1px solid $accent; border-radius: 8px; }
QFrame[look="band"] { background: $panel; border: none; border-top: 1px solid $line; }
QFrame[look="rule"] { background: $line; border: none; max-height: 1px; min-height: 1px; }
QFrame[look="message"] { background: $panel; border: none; border-bottom: 1px solid $line; }

QComboBox, QLineEdit, QSpinBox, QDoubleSpinBox {
    background: $panel; color: $text; border: 1px solid $line; border-radius: 6px; padding: 3px 8px;
    selection-background-color: $accent; selection-color: $accent_text;
}
QComboBox { padding: 3px 2px 3px 7px; }
QComboBox:hover, QLineEdit:hover, QSpinBox:hover, QDoubleSpinBox:hover { border: 1px solid $line_strong; }
QComboBox:focus, QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus { border: 1px solid $focus; }
QComboBox:disabled, QLineEdit:disabled, QSpinBox:disabled { color: $faint; background: $window; }
QComboBox QLineEdit { border: none; padding: 0; background: transparent; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { image: none; width: 0; height: 0; }
QComboBox QAbstractItemView {
    background: $panel; border: 1px solid $line; outline: none; padding: 3px;
    selection-background-color: $selection; selection-color: $text;
}
QComboBox QAbstractItemView::item { padding: 4px 8px; min-height: 1.5em; }

QPlainTextEdit, QTextEdit, QTextBrowser {
    background: $panel; border: 1px solid $line; border-radius: 6px;
    selection-background-color: $accent; selection-color: $accent_text;
}
QPlainTextEdit:focus, QTextEdit:focus, QTextBrowser:focus { border: 1px solid $focus; }
QPlainTextEdit[look="command"] { background: $window; }

QTreeView, QTableView, QListView { background: $panel; border: none; outline: none; }
QTreeView[look="cards"] { background: transparent; }
QTableView { gridline-color: $line; }
QTableView::item { padding: 2px 6px; }
QTableView::item:selected, QTreeView::item:selected { background: $selection; color: $text; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: transparent; color: $text_dim; border: none; border-bottom: 1px solid $line; padding: 2px 6px;
}

QCheckBox::indicator {
    width: 14px; height: 14px; border: 1px solid $line_strong; border-radius: 3px; background: $panel;
}
QCheckBox::indicator:hover, QCheckBox::indicator:focus { border: 1px solid $focus; }
QCheckBox::indicator:checked { background: $accent; border: 1px solid $accent; }

QSlider::groove:horizontal { height: 4px; background: $line; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal {
    background: $accent; width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; border: 1px solid $panel;
}
QSlider::handle:horizontal:hover { background: $accent_hover; }
QSlider::handle:horizontal:focus { border: 2px solid $text; width: 12px; height: 12px; }
QSlider::handle:horizontal:disabled, QSlider::sub-page:horizontal:disabled { background: $line_strong; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $line_strong; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $text_dim; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QMenu { background: $panel; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 5px 22px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $selection; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $line; margin: 4px 6px; }
QToolTip { background: $panel; color: $text; border: 1px solid $line; padding: 4px 6px; }
QProgressBar { background: $chip; border: none; border-radius: 3px; max-height: 6px; text-align: center; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QSplitter::handle { background: $line; }
""")


def make_style_sheet(tokens: Tokens) -> str:
    """The application's style sheet for a theme."""
    colors = {name: tokens.css(name) for name in tokens.values}
    colors["faint"] = tokens.blend("text_dim", "panel", 0.6).name()
    colors["line_strong"] = tokens.blend("text_dim", "line", 0.45).name()
    colors["accent_hover"] = tokens.blend("accent", "text", 0.88).name()
    colors["accent_pressed"] = tokens.blend("accent", "text", 0.78).name()
    return _RULES.substitute(colors)
