/** Writes the tables of docs/reference/ from the code. `bun test/support/reference-docs.ts` after a change. */
import { LIMITS } from '../../core/config/limits.ts'
import { VARIABLES } from '../../core/config/variables.ts'
import { ERROR_CODES, FIELD_CODES } from '../../core/contract/errors.ts'
import { licencesPage } from './licences.ts'

const folder = new URL('../../docs/reference/', import.meta.url)

/** Contents of the generated pages, by file name. */
export function referencePages(): Readonly<Record<string, string>> {
  return { 'errors.md': errorsPage(), 'limits.md': limitsPage(), 'licences.md': licencesPage() }
}

/** Names that docs/reference/environment.md must hold. */
export function variableNames(): readonly string[] {
  return VARIABLES.map(variable => variable.name)
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, entry]: [string, { status: number; title: string; retry?: true; rpc?: number }]) => {
      const rpc = entry.rpc ?? (entry.status >= 500 ? -32603 : -32600)
      return `| \`${code}\` | ${entry.status} | ${rpc} | ${entry.retry ? 'yes' : ''} | ${entry.title} |`
    },
  )
  const fields = Object.entries(FIELD_CODES).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  return `# Error codes

Outside \`/mcp\` every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`code\`, \`detail\`,
\`instance\`, \`requestId\`, and where it helps \`hint\` and \`errors[]\` (each with \`pointer\`, \`code\`, \`detail\`). Under \`/mcp\` it
is a JSON-RPC error with \`data.code\` and \`data.requestId\`. Codes are stable; texts are not. A server's \`status.reason.code\`
is one of the same codes.

| code | HTTP | JSON-RPC | worth repeating | meaning |
|---|---|---|---|---|
${rows.join('\n')}

## Fields

\`validation_failed\` lists each wrong field: a JSON Pointer into the body (\`#/name\`) or a query parameter (\`?limit\`).

| code | the value |
|---|---|
${fields.join('\n')}

## Exit codes

\`0\` done · \`1\` cannot run (port taken, data folder locked or not writable, store corrupt, master key missing) or the command failed · \`2\` wrong
arguments or environment · \`78\` the settings file cannot be used. One line \`error: <code>: <message>\` on standard error.
`
}

function limitsPage(): string {
  const rows = Object.entries(LIMITS).map(([name, value]) => `| \`${name}\` | ${value.toLocaleString('en-US')} |`)
  return `# Limits

\`GET /api/limits\` shows the values in force and what is used of them. Units are in the names; \`…Ms\` are milliseconds.

| limit | value |
|---|---|
${rows.join('\n')}
`
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(referencePages())) await Bun.write(new URL(name, folder), text)
}
