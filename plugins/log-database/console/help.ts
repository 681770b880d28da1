import { html, nothing } from 'lit'
import { dialog, PbElement, t } from 'patchbay/console'
import { QUERY_FIELDS } from './query.ts'

/**
 * Help on the syntax of queries.
 *
 * @fires pb-close
 */
export class PbLogHelp extends PbElement {
  static override properties = { open: { type: Boolean } }
  declare open: boolean

  override render(): unknown {
    return dialog({
      open: this.open,
      title: t('How to write a query'),
      body: this.open ? this.#body() : nothing,
      onClose: () => this.dispatchEvent(new CustomEvent('pb-close')),
    })
  }

  #body(): unknown {
    const rows: readonly (readonly [string, string])[] = [
      ['timeout', t('the word is in the message or in another text')],
      ['"connection refused"', t('a phrase, as written')],
      ['server:github', t('a field has this value')],
      ['tag:production', t('the server, or the group of the call, has this tag now')],
      ['level:(ERROR or WARN)', t('one of several values')],
      ['duration:>=500', t('at least; also >, <= and <. Durations are milliseconds, or such as 2s')],
      ['-tool:ping', t('a minus in front excludes')],
    ]
    return html`<div class="stack l"><p>${t('All terms must hold. Upper and lower case are the same.')}</p>
      <dl class="kv qhelp">${rows.map(([example, meaning]) => html`<dt class="mono">${example}</dt><dd>${meaning}</dd>`)}</dl>
      <p class="s q">${t('Fields:')} <span class="mono">${QUERY_FIELDS.join(', ')}</span></p></div>`
  }
}
customElements.define('pb-log-help', PbLogHelp)

declare global {
  interface HTMLElementTagNameMap {
    'pb-log-help': PbLogHelp
  }
}
