import { json, jsonParseLinter } from '@codemirror/lang-json'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { linter, lintGutter } from '@codemirror/lint'
import { tags } from '@lezer/highlight'
import { basicSetup, EditorView } from 'codemirror'

/** Options of the editor. */
export interface EditorOptions {
  readonly text: string
  readonly label: string
  readonly readonly: boolean
  readonly onChange: (text: string) => void
}

/** The editor as its element uses it. */
export interface JsonEditor {
  readonly text: string
  setText(text: string): void
  focus(): void
  destroy(): void
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--pb-code-key)' },
  { tag: tags.string, color: 'var(--pb-code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--pb-code-number)' },
  { tag: tags.invalid, color: 'var(--pb-bad)' },
])

const theme = EditorView.theme({
  '&': { fontSize: '12.5px', color: 'var(--pb-text)', backgroundColor: 'var(--pb-surface)' },
  '&.cm-focused': { outline: '2px solid var(--pb-accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--pb-font-code)', lineHeight: '20px', maxHeight: '60vh' },
  '.cm-content': { caretColor: 'var(--pb-text)' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--pb-text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--pb-sunken)',
    color: 'var(--pb-text-faint)',
    borderRight: '1px solid var(--pb-line-color)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--pb-hover)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'var(--pb-accent-quiet) !important',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--pb-surface)',
    color: 'var(--pb-text)',
    borderColor: 'var(--pb-line-strong)',
  },
})

/** Creates an editor in a shadow root: its styles are adopted sheets there, which the page's policy allows. */
export function createEditor(root: ShadowRoot, options: EditorOptions): JsonEditor {
  const view = new EditorView({
    doc: options.text,
    parent: root,
    root,
    extensions: [
      basicSetup,
      json(),
      linter(jsonParseLinter()),
      lintGutter(),
      syntaxHighlighting(colours),
      theme,
      EditorView.lineWrapping,
      EditorView.editable.of(!options.readonly),
      EditorView.contentAttributes.of({ 'aria-label': options.label, tabindex: '0' }),
      EditorView.updateListener.of(update => {
        if (update.docChanged) options.onChange(update.state.doc.toString())
      }),
    ],
  })
  return {
    get text() {
      return view.state.doc.toString()
    },
    setText: text => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  }
}
