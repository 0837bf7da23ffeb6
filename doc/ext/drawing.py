"""Pictures as SVG, drawn by hand so that building the documentation needs no other program."""

import dataclasses
import html

FONT = 'font-family="sans-serif" font-size="13"'


@dataclasses.dataclass
class Drawing:
    """Collects shapes; coordinates in pixels, from the upper left."""

    width: int
    height: int
    shapes: list[str] = dataclasses.field(default_factory=list)

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "middle", style: str = ""
    ) -> None:
        """Write a line, with a white edge that keeps it readable on other shapes."""
        place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" {FONT} {style}'
        for look in ('stroke="#fff" stroke-width="4" stroke-opacity="0.8"', ""):
            self.shapes.append(f'<text {place} fill="#222" {look}>{html.escape(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, *, fill: str) -> None:
        self.shapes.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6"'
            f' fill="{fill}" stroke="#555"/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, style: str = "") -> None:
        self.shapes.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#555" {style}/>'
        )

    def path(self, commands: str, *, style: str = "") -> None:
        self.shapes.append(f'<path d="{commands}" fill="none" stroke="#555" {style}/>')

    def svg(self) -> str:
        marker = (
            '<defs><marker id="head" markerWidth="10" markerHeight="8" refX="9" refY="4"'
            ' orient="auto"><path d="M0,0 L10,4 L0,8 z" fill="#555"/></marker></defs>'
        )
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        style = 'style="max-width:100%;height:auto;background:#fff"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>',
                marker,
                *self.shapes,
                "</svg>",
            ]
        )
