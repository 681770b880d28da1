/** Stdio: its tools ask the user to open an address that must not break a page, and with members of wrong types. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

/** Addresses that are not links, and one that is. */
const ADDRESSES: Readonly<Record<string, string>> = {
  percent: 'https://%',
  bracket: 'https://[',
  port: 'https://a.example:99999/',
  script: 'javascript:alert(1)',
  data: 'data:text/html,<script>alert(1)</script>',
  empty: '',
  long: `https://a.example/${'x'.repeat(100_000)}`,
  turned: 'https://a.example/\u202Egpj.exe',
  hidden: 'https://a\u200B.example/',
  person: 'https://bank.example@evil.example/',
  fine: 'https://a.example/path?q=1',
}

const server = new McpServer({ name: 'linking', version: '1.0.0' })
const ask = (name: string, params: Record<string, unknown>) =>
  server.registerTool(name, { description: 'Asks the user' }, async extra => {
    const request = { method: 'elicitation/create', params } as never
    const answer = await extra
      .sendRequest(request, z.looseObject({}))
      .catch((error: unknown) => ({ refused: `${error}` }))
    return { content: [{ type: 'text' as const, text: JSON.stringify(answer) }] }
  })

for (const [name, url] of Object.entries(ADDRESSES))
  ask(name, { mode: 'url', message: 'Sign in', elicitationId: name, url })
// Values that lit would treat as its own templates, and an invalid schema.
ask('template', { mode: 'form', message: { _$litType$: 1, strings: ['x'] }, requestedSchema: ['x'] })

await server.connect(new StdioServerTransport())
