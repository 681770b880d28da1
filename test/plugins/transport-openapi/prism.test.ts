import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { JsonObject } from 'patchbay/contract'
import { extent } from '../../support/extent.ts'
import { until } from '../../support/wait.ts'
import { openLink } from './harness.ts'
import { sampleArguments } from './sample-arguments.ts'

const PRISM = Bun.resolveSync('@stoplight/prism-cli/dist/index.js', import.meta.dir)
const EXAMPLES = dirname(Bun.resolveSync('@readme/oas-examples/package.json', import.meta.dir))

interface Mock extends AsyncDisposable {
  readonly url: string
  log(): string
}

/** An HTTP API that an independent program makes of a document, and that checks every request by it. */
async function mock(document: string): Promise<Mock> {
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port } = probe
  await probe.stop(true)
  const child = Bun.spawn([process.execPath, PRISM, 'mock', '-h', '127.0.0.1', '-p', String(port), document], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH ?? '', NO_COLOR: '1' },
  })
  const said = { text: '' }
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) said.text += decoder.decode(chunk, { stream: true })
  }
  const reading = [gather(child.stdout), gather(child.stderr)]
  const url = `http://127.0.0.1:${port}`
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
    await Promise.all(reading)
  }
  try {
    await until(() => said.text.includes('Prism is listening'), { timeoutMs: 60_000, what: `Prism: ${document}` })
  } catch (error) {
    await end()
    throw error
  }
  return { url, log: () => said.text, [Symbol.asyncDispose]: end }
}

const CREDENTIAL = { value: 'key', token: 'token', username: 'user', password: 'password' }

/** A value for every scheme of a document. */
function credentials(document: JsonObject): JsonObject {
  const { components = {}, securityDefinitions = {} } = document as {
    components?: JsonObject
    securityDefinitions?: JsonObject
  }
  const schemes = { ...(components.securitySchemes as JsonObject | undefined), ...securityDefinitions }
  return Object.fromEntries(
    Object.entries(schemes).map(([name, scheme]) => {
      const isBasic = (scheme as JsonObject).scheme === 'basic' || (scheme as JsonObject).type === 'basic'
      return [name, isBasic ? { username: 'user', password: 'password' } : { ...CREDENTIAL, username: 'x' }]
    }),
  )
}

const NEWEST = '3.1/json/train-travel.json'
const OF_EARLIER_VERSIONS = ['2.0/json/petstore-expanded.json', '3.0/json/petstore.json']
const OTHERS = ['parameters-common', 'form-data', 'uspto', 'security'].map(name => `3.0/json/${name}.json`)

describe('Prism finds no violation in what the tools send', () => {
  test.each([NEWEST, ...extent([], [...OF_EARLIER_VERSIONS, ...OTHERS])])(
    '%s',
    async name => {
      const path = join(EXAMPLES, name)
      const document = JSON.parse(readFileSync(path, 'utf8')) as JsonObject
      await using api = await mock(path)
      await using open = await openLink({
        openapi: { schema: document, baseUrl: api.url, auth: credentials(document) },
      })
      const violations: string[] = []
      for (const tool of open.tools) {
        const before = api.log().length
        const given = sampleArguments(tool.inputSchema as JsonObject)
        const result = await open.call(String(tool.name), given)
        const checked = (): RegExpExecArray | null =>
          /passed the validation rules|did not pass|NO_(?:PATH|METHOD)/.exec(api.log().slice(before))
        await until(() => checked() !== null, { what: `Prism's check of ${tool.name}` })
        const said = api.log().slice(before)
        const violated = [...said.matchAll(/✖ +error +(.*)/g)].map(match => match[1])
        if (violated.length > 0)
          violations.push(
            `${tool.description}: ${violated} ${JSON.stringify(given).slice(0, 300)} → ${result.content[0]?.text?.slice(0, 100)}`,
          )
      }
      expect(violations).toEqual([])
    },
    120_000,
  )
})
