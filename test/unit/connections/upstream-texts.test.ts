import { describe, expect, test } from 'bun:test'
import { StderrTail } from '../../../core/connections/stderr-tail.ts'
import { withoutSecrets } from '../../../core/connections/upstream-texts.ts'
import { Redactor } from '../../../core/secrets/redact.ts'

const SECRET = 'canary-0123456789-1f3c'
const redactor = new Redactor()
redactor.add(SECRET)
const redact = (text: string) => redactor.text(text)

describe('withoutSecrets()', () => {
  const lists = { prompts: null, resources: '[]', resourceTemplates: '[]', warnings: [] }
  const catalog = (tools: string) => ({
    type: 'catalog',
    conn: 1,
    noticed: [],
    more: false,
    json: { ...lists, tools },
  })

  test('takes secrets out of descriptions and defaults, and leaves what things are called', () => {
    const tool = {
      name: SECRET,
      description: `Uses ${SECRET}`,
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', description: `not ${SECRET}`, default: SECRET, enum: [SECRET] } },
      },
      big: 12,
    }
    const said = withoutSecrets(catalog(JSON.stringify([tool])) as never, redact)
    const [read] = JSON.parse((said as unknown as ReturnType<typeof catalog>).json.tools)
    expect(read).toEqual({
      name: SECRET,
      description: 'Uses [redacted]',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', description: 'not [redacted]', default: '[redacted]', enum: [SECRET] } },
      },
      big: 12,
    })
  })

  test('leaves the very text of a list in which there is none, and numbers as they are written in one that has', () => {
    const plain = '[{"name":"a" , "n":1.0}]'
    expect(withoutSecrets(catalog(plain) as never, redact)).toEqual(catalog(plain) as never)
    const large = `[{"name":"a","description":"${SECRET}","n":12345678901234567890123}]`
    const said = withoutSecrets(catalog(large) as never, redact)
    expect((said as unknown as ReturnType<typeof catalog>).json.tools).toContain('12345678901234567890123')
  })

  test('reasons, remarks and what a server says of itself', () => {
    const message = `it said ${SECRET}`
    const said = [
      { type: 'failed', conn: 1, error: { code: 'upstream_protocol', message } },
      { type: 'closed', conn: 1, begun: [], reason: { code: 'upstream_protocol', message } },
      { type: 'log', conn: 1, level: 'info', message },
      { type: 'opened', conn: 1, instructions: message, serverInfo: { name: 'a', title: message }, capabilities: {} },
    ].map(each => JSON.stringify(withoutSecrets(each as never, redact)))
    for (const text of said) {
      expect(text).toContain('it said [redacted]')
      expect(text).not.toContain(SECRET)
    }
  })
})

describe('StderrTail', () => {
  const kept = (chunks: readonly string[]): string => {
    const tail = new StderrTail(redact)
    for (const chunk of chunks) tail.push(Buffer.from(chunk))
    return tail
      .lines()
      .map(({ line }) => line)
      .join('\n')
  }

  test('finds a secret at each border of chunks, in a line that is not ended too', () => {
    for (let at = 1; at < SECRET.length; at += 1) {
      for (const end of ['', '\n']) {
        expect(kept([`key ${SECRET.slice(0, at)}`, `${SECRET.slice(at)} x${end}`])).toBe('key [redacted] x')
      }
    }
  })

  test('shows no part of a secret that lies where a line or a chunk is cut', () => {
    for (const before of [1_990, 4_000, 32 * 1024 - 10]) {
      for (const after of [
        '',
        '\n',
        `${'y'.repeat(1_995)}`,
        `${'y'.repeat(1_995)}\n`,
        `${'y'.repeat(32 * 1024 - 12)}\nlast\n`,
      ]) {
        const text = kept([`${'x'.repeat(before)}${SECRET}${after}`])
        for (let length = 6; length <= SECRET.length; length += 1) {
          expect([before, after.length, text.includes(SECRET.slice(0, length))]).toEqual([before, after.length, false])
          expect([before, after.length, text.includes(SECRET.slice(-length))]).toEqual([before, after.length, false])
        }
      }
    }
  })
})
