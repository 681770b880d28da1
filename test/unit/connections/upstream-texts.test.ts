import { describe, expect, test } from 'bun:test'
import { StderrTail } from '../../../core/connections/process/stderr-tail.ts'
import type { ListEntry } from '../../../core/connections/protocol.ts'
import { cleaned } from '../../../core/connections/worker/upstream-texts.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { parseExact } from '../../../core/domain/json/exact-json.ts'
import { type CatalogItem, catalogItem, itemJson } from '../../../core/domain/tools/catalog-item.ts'
import { Redactor } from '../../../core/secrets/redact.ts'

const SECRET = 'canary-0123456789-1f3c'
const redactor = new Redactor()
redactor.add(SECRET)
const redact = (text: string) => redactor.text(text)

describe('cleaned()', () => {
  const part = (entries: readonly ListEntry[]): readonly ListEntry[] => {
    const said = cleaned({ type: 'list', conn: 1, kind: 'tools', entries }, redact)
    return said.type === 'list' ? said.entries : []
  }
  const redacted = (tool: JsonObject): JsonObject => {
    const [item] = part([catalogItem('tools', tool)])
    return itemJson(item as CatalogItem)
  }

  test('takes secrets out of descriptions, and leaves what things are called and what a schema compares', () => {
    const tool = {
      name: SECRET,
      description: `Uses ${SECRET}`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: `not ${SECRET}`, default: SECRET, enum: [SECRET] },
          default: { type: 'string', description: SECRET, default: { plain: 1 } },
        },
      },
      big: 12,
    }
    expect(redacted(tool)).toEqual({
      name: SECRET,
      description: 'Uses [redacted]',
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'not [redacted]', enum: [SECRET] },
          default: { type: 'string', description: '[redacted]', default: { plain: 1 } },
        },
      },
      big: 12,
    })
  })

  test('leaves the very text of a list in which there is none, and numbers as they are written in one that has', () => {
    const plain = catalogItem('tools', { name: 'a', n: 1 }, '{"name":"a" , "n":1.0}')
    expect(part([plain, 7])).toEqual([plain, 7])
    const text = `{"name":"a","description":"${SECRET}","n":12345678901234567890123}`
    const large = catalogItem('tools', parseExact(text) as JsonObject, text)
    const [said] = part([large])
    expect((said as CatalogItem).text).toContain('12345678901234567890123')
    // A pin uses the text that the server wrote, no matter which texts are secret at the time.
    expect((said as CatalogItem).hash).toBe(large.hash)
    // A list whose text is different now is announced as changed.
    expect((said as CatalogItem).fingerprint).not.toBe(large.fingerprint)
  })

  test('reasons, remarks and what a server says of itself', () => {
    const message = `it said ${SECRET}`
    const said = [
      { type: 'failed', conn: 1, error: { code: 'upstream_protocol', message } },
      { type: 'closed', conn: 1, begun: [], reason: { code: 'upstream_protocol', message } },
      { type: 'log', conn: 1, level: 'info', message },
      { type: 'opened', conn: 1, instructions: message, serverInfo: { name: 'a', title: message }, capabilities: {} },
    ].map(each => JSON.stringify(cleaned(each as never, redact)))
    for (const text of said) {
      expect(text).toContain('it said [redacted]')
      expect(text).not.toContain(SECRET)
    }
  })
})

describe('StderrTail', () => {
  const kept = (chunks: readonly string[]): string => {
    const tail = new StderrTail()
    const writer = tail.writer(redact)
    for (const chunk of chunks) writer.push(Buffer.from(chunk))
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
