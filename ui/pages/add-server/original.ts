import { html } from 'lit'
import { api } from '../../api/client.ts'
import { href } from '../../app/router.ts'
import { download } from '../../components/download.ts'
import { PbElement } from '../../components/element.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'
import type { Draft } from './draft.ts'
import '../../components/copy.ts'

/** A file of another program with servers switched off in it. */
export interface SwitchedFile {
  readonly text: string
  readonly format: 'json' | 'toml' | 'yaml'
  readonly places: readonly { readonly path: string }[]
  readonly off: readonly string[]
  /** The text that was pasted. */
  readonly before: string
}

/** Pointers of the entries that can be switched off in the pasted text: those in a map or list of servers. */
export function pointersOf(drafts: readonly Draft[]): readonly string[] {
  return drafts.flatMap(({ verdict: { at } }) => (at !== undefined && /^#\/[^/]+\/./.test(at) ? [at] : []))
}

/** Returns the pasted text with these entries switched off. Rejects with the hub's refusal where that cannot be done. */
export async function switchedFile(before: string, pointers: readonly string[]): Promise<SwitchedFile> {
  const { switchedOff } = await api.post<{ readonly switchedOff: Omit<SwitchedFile, 'before'> }>('/api/import', {
    query: { dryRun: true },
    body: { document: before, switchOff: pointers },
  })
  return { ...switchedOff, before }
}

/** The changed file after a save, and the original one to go back to. */
export class PbSwitchedFile extends PbElement {
  static override properties = { file: { attribute: false } }
  declare file: SwitchedFile

  override render(): unknown {
    const { text, before, off } = this.file
    return html`<section class="card"><div class="ch"><h2>${t('The changed file')}</h2></div><div class="cb stack t">
      <p class="s" role="status">${t('{names}: off in the text below, so that no server runs twice. Put it in the place of your file, and start its program again.', { names: off.join(', ') })}</p>
      <pre class="code connect-text" tabindex="0">${text}</pre>
      <div class="row wrap"><button type="button" class="btn pri" @click=${() => this.#save(text, '')}>${icon('download')}${t('Download the changed file')}</button><pb-copy .text=${text} .caption=${t('Copy')}></pb-copy>
        <button type="button" class="btn" @click=${() => this.#save(before, '.original')}>${t('Download the original file')}</button><a class="btn ghost push" href=${href('/servers')}>${t('Go to the servers')}</a></div>
      <p class="hint">${t('Keep the original file, so that you can go back.')} ${t('On its own machine a file is changed in place, with a copy beside it, by:')} <code>patchbay import FILE --switch-off</code></p></div></section>`
  }

  #save(text: string, mark: string): void {
    const [place] = this.file.places
    const name = place?.path.split(/[/\\]/).at(-1) ?? `mcp.${this.file.format}`
    download(name.replace(/(?=\.\w+$)/, mark), new Blob([text], { type: 'text/plain' }))
  }
}
customElements.define('pb-switched-file', PbSwitchedFile)

declare global {
  interface HTMLElementTagNameMap {
    'pb-switched-file': PbSwitchedFile
  }
}
