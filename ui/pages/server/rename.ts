import { html, nothing, type TemplateResult } from 'lit'
import type { ToolRecord } from '../../api/types.ts'
import { dialog, hide } from '../../components/layers/layer.ts'
import { t } from '../../text/t.ts'

/** Inputs of the dialog from its tab. */
export interface RenameOptions {
  /** Undefined: it is closed. */
  readonly tool: ToolRecord | undefined
  close(): void
  save(tool: ToolRecord, changes: Readonly<Record<string, unknown>>): void
}

/** Dialog to give a tool another name or description for clients; empty fields revert the change. */
export function renameDialog({ tool, close, save }: RenameOptions): TemplateResult {
  const press = (event: Event): void => {
    const layer = (event.currentTarget as Element).closest('.layer')
    const name = layer?.querySelector<HTMLInputElement>('#tool-name')?.value.trim() ?? ''
    const description = layer?.querySelector<HTMLTextAreaElement>('#tool-description')?.value.trim() ?? ''
    hide(event)
    if (tool) save(tool, changesOf(tool, name, description))
  }
  return dialog({
    open: tool !== undefined,
    title: t('Rename {name}', { name: tool?.name ?? '' }),
    body: tool
      ? html`<div class="stack l"><div class="field"><label for="tool-name">${t('Name towards clients')}</label><input id="tool-name" class="in code" maxlength="128" autocomplete="off" .value=${tool.name}>
          <p class="hint">${t('The server calls it {name}. Groups and clients that use the old name lose the tool.', { name: String(tool.original ?? tool.name) })}</p></div>
        <div class="field"><label for="tool-description">${t('Description')}</label><textarea id="tool-description" class="in" rows="4" maxlength="8192" .value=${tool.description ?? ''}></textarea>
          <p class="hint">${t('A model chooses by it. Empty: as the server has it.')}</p></div></div>`
      : nothing,
    foot: html`<button type="button" class="btn push" @click=${hide}>${t('Cancel')}</button><button type="button" class="btn pri" @click=${press}>${t('Save')}</button>`,
    onClose: close,
  })
}

/** Null takes a change back. */
function changesOf(tool: ToolRecord, name: string, description: string): Readonly<Record<string, unknown>> {
  const changes: Record<string, unknown> = {}
  if (name !== tool.name) changes.name = name === '' || name === tool.original ? null : name
  if (description !== (tool.description ?? '')) changes.description = description || null
  return changes
}
