import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pauses } from '../../store/pauses.ts'

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8885; border-radius: .4rem }
summary { cursor: pointer; padding: .3rem 0 }
summary b { display: inline-block; min-width: 4.5rem }
small { opacity: .75 }
`

/** A page, and the content security policy for its only style sheet. */
export interface DocsPage {
  readonly html: string
  readonly policy: string
}

/** The OpenAPI document as one HTML page without scripts; made in turns. */
export async function docsPage(document: JsonObject): Promise<DocsPage> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(STYLE))
  const hash = btoa(String.fromCharCode(...new Uint8Array(digest)))
  const info = objectOf(document.info)
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Patchbay API</title><style>${STYLE}</style></head><body>
<h1>Patchbay API <small>${text(info.version)}</small></h1>
<p>${text(info.description)} The same as <a href="openapi.json">OpenAPI 3.1</a>.</p>
<p>Send <code>Authorization: Bearer …</code> with a session token (<code>POST /api/auth/login</code>) or an access key.
Every refusal is <code>application/problem+json</code> with a stable <code>code</code>.</p>
${await sections(document)}
</body></html>
`
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
  return { html, policy }
}

async function sections(document: JsonObject): Promise<string> {
  const pause = pauses()
  const byTag = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(objectOf(document.paths))) {
    for (const [method, value] of Object.entries(objectOf(methods))) {
      const operation = objectOf(value)
      const tag = String(Array.isArray(operation.tags) ? operation.tags[0] : 'other')
      byTag.set(tag, [...(byTag.get(tag) ?? []), entry(method, path, operation)])
      await pause()
    }
  }
  return [...byTag].map(([tag, entries]) => `<h2>${text(tag)}</h2>\n${entries.join('\n')}`).join('\n')
}

function entry(method: string, path: string, operation: JsonObject): string {
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.map(objectOf) : []
  const body = objectOf(objectOf(objectOf(operation.requestBody).content)['application/json'])
  return `<details><summary><b>${text(method.toUpperCase())}</b> <code>${text(path)}</code> — ${text(operation.summary)}
<small>(${text(operation['x-access'])})</small></summary>
${parameters.length === 0 ? '' : `<ul>${parameters.map(parameterItem).join('')}</ul>`}
${body.schema === undefined ? '' : `<p>Body</p>${block(body.example ?? body.schema)}`}
${Object.entries(objectOf(operation.responses))
  .filter(([status]) => status !== 'default')
  .map(response)
  .join('\n')}
</details>`
}

function parameterItem(parameter: JsonObject): string {
  const { description, type } = objectOf(parameter.schema)
  const kind = `${text(parameter.in)}${type === undefined ? '' : `, ${text(type)}`}`
  return `<li><code>${text(parameter.name)}</code> <small>${kind}</small> ${text(description)}</li>`
}

function response([status, value]: [string, JsonValue]): string {
  const { description, content } = objectOf(value)
  const [first] = Object.values(objectOf(content)).map(objectOf)
  const shown = first?.example ?? first?.schema
  return `<p>${text(status)}: ${text(description)}</p>${shown === undefined ? '' : block(shown)}`
}

function block(value: JsonValue): string {
  return `<pre>${text(JSON.stringify(value, null, 2))}</pre>`
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function text(value: JsonValue | undefined): string {
  return String(value ?? '').replace(/[&<>"']/g, character => ENTITIES[character] ?? '')
}
