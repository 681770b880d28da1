import { html, nothing } from 'lit'
import { api, urlOf } from '../../api/client.ts'
import { Resource } from '../../app/resource.ts'
import { type Crumb, PbPage } from '../../components/page.ts'
import { emptyState, show } from '../../components/states.ts'
import { codeWords } from '../../text/code-words.ts'
import { icon } from '../../text/icon.ts'
import { t } from '../../text/t.ts'

interface Operation {
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly 'x-access'?: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: { readonly type?: string; readonly description?: string }
  }[]
  readonly requestBody?: {
    readonly content?: Readonly<Record<string, { readonly schema?: unknown; readonly example?: unknown }>>
  }
  readonly responses?: Readonly<
    Record<
      string,
      {
        readonly description?: string
        readonly content?: Readonly<Record<string, { readonly schema?: unknown; readonly example?: unknown }>>
      }
    >
  >
}

interface ApiDocument {
  readonly info: { readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Entry {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** The hub's REST API, read from the document that the hub generates of itself. */
export class PbPageReference extends PbPage {
  readonly #document = new Resource<ApiDocument>(this, { read: signal => api.get('/api/openapi.json', { signal }) })

  override crumbs(): readonly Crumb[] {
    return [{ label: t('API reference') }]
  }

  override actions(): unknown {
    return html`<a class="btn" href=${urlOf('/api/openapi.json')} target="_blank">${icon('braces')}OpenAPI 3.1</a>`
  }

  override content(): unknown {
    return html`<p class="lede">${t('Send “Authorization: Bearer …” with an access key or a session token. Every refusal is a problem document with a stable code.')}</p>
      <div class="filters"><div class="wrapin">${icon('search')}<input class="in" type="search" data-search placeholder=${t('Path or words')} aria-label=${t('Path or words')} .value=${this.view('q') ?? ''} @input=${(event: InputEvent) => this.setView({ q: (event.target as HTMLInputElement).value })}></div></div>
      ${show(this.#document, document => this.#sections(document))}`
  }

  #sections(document: ApiDocument): unknown {
    const words = (this.view('q') ?? '').toLowerCase().split(/\s+/)
    const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): Entry => ({ method: method.toUpperCase(), path, operation })),
    )
    const found = entries.filter(({ method, path, operation }) =>
      words.every(word => `${method} ${path} ${operation.summary ?? ''}`.toLowerCase().includes(word)),
    )
    if (found.length === 0)
      return emptyState({
        icon: 'book-open',
        title: t('No route matches'),
        action: html`<button type="button" class="btn" @click=${() => this.setView({ q: undefined })}>${t('Clear')}</button>`,
      })
    const tags = [...new Set(found.map(tagOf))]
    return tags.map(
      tag =>
        html`<section class="card"><div class="ch line"><h2 lang="en">${tag}</h2></div><div class="cb apilist">${found.filter(entry => tagOf(entry) === tag).map(entryDetails)}</div></section>`,
    )
  }
}
customElements.define('pb-page-reference', PbPageReference)

function tagOf({ operation }: Entry): string {
  return operation.tags?.[0] ?? ''
}

/** Lit renders the inside of each entry with the page; schemas are drawn as JSON. */
function entryDetails({ method, path, operation }: Entry): unknown {
  const body = operation.requestBody?.content?.['application/json']
  return html`<details><summary><code class="verb">${method}</code> <code>${path}</code> <span class="q s" lang="en">${codeWords(operation.summary ?? '')}</span> <span class="tag" lang="en">${operation['x-access'] ?? ''}</span></summary>
    ${(operation.parameters ?? []).length === 0 ? nothing : html`<dl class="kv">${operation.parameters?.map(({ name, in: where, schema, required }) => html`<dt><code>${name}</code></dt><dd class="q"><span lang="en">${where}${schema?.type ? `, ${schema.type}` : ''}</span>${required ? `, ${t('required')}` : ''} <span lang="en">${codeWords(schema?.description ?? '')}</span></dd>`)}</dl>`}
    ${body ? html`<h3 class="sech">${t('Body')}</h3>${json(body.example ?? body.schema)}` : nothing}
    ${Object.entries(operation.responses ?? {})
      .filter(([status]) => status !== 'default')
      .map(([status, { description, content }]) => {
        const [first] = Object.values(content ?? {})
        return html`<h3 class="sech">${status} <span class="q" lang="en">${codeWords(description ?? '')}</span></h3>${first ? json(first.example ?? first.schema) : nothing}`
      })}</details>`
}

function json(value: unknown): unknown {
  return html`<pre class="code" tabindex="0">${JSON.stringify(value, null, 2)}</pre>`
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-page-reference': PbPageReference
  }
}
