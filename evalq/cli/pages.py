"""The command that serves the pages."""

import webbrowser
from collections.abc import Sequence
from importlib import import_module

import click

from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, suggest


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8400, show_default=True, help="0: any.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--allow-host", "hosts", multiple=True, help="A further host name of this server.")
@click.option("--open", "opens", is_flag=True, help="Open the first page in the browser.")
@pass_context
def web(context: Context, port: int, address: str, hosts: Sequence[str], opens: bool) -> int:
    """Serve pages until Ctrl-C: runs, cases side by side, comparisons, drift, review, fleet, cost.

    An address other than loopback needs a token: EVALQ_WEB_TOKEN, default: a random one.
    """
    # Imported by name, like the commands: web and command line do not depend on each other.
    server_module, site_module = import_module("evalq.web.server"), import_module("evalq.web.site")
    with context.open_session() as session, server_module.listen(address, port) as endpoint:
        site = site_module.Site(session, context.has_running_fleet)
        served = endpoint.pages(site, token=context.environ.get("EVALQ_WEB_TOKEN"), hosts=hosts)
        first = endpoint.url if served.token is None else f"{endpoint.url}/?token={served.token}"
        note(f"serving pages on {first if served.is_new_token else endpoint.url} (Ctrl-C stops it)")
        if opens:
            webbrowser.open(first)
        else:
            suggest(f"open {endpoint.url} in a browser")
        server_module.serve(served, endpoint)
    return 0
