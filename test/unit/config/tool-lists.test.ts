import { expect, test } from 'bun:test'
import { readServerEntry } from '../../../core/config/shape/server.ts'
import type { JsonObject } from '../../../core/contract/json.ts'

const on = { enabled: true }
const off = { enabled: false }
const read = (entry: object) => {
  const { body, warnings } = readServerEntry('s', { command: 'x', ...entry } as JsonObject)
  return { tools: body.tools, byDefault: body.toolsDefault, warnings }
}

test.each<[string, object, object | undefined, 'off' | undefined]>([
  ['Gemini CLI, Qwen Code, Amp', { includeTools: ['a', 'b(x, y)'] }, { a: on, b: on }, 'off'],
  ['both lists of Gemini CLI', { includeTools: ['a', 'b'], excludeTools: ['b'] }, { a: on, b: off }, 'off'],
  ['nanobot and 1MCP', { enabledTools: ['a'] }, { a: on }, 'off'],
  ['all of nanobot’s', { enabledTools: ['*'] }, undefined, undefined],
  ['none of nanobot’s', { disabledTools: ['*'] }, undefined, 'off'],
  ['Crush', { enabled_tools: ['a'], disabled_tools: ['c'] }, { a: on, c: off }, 'off'],
  ['LiteLLM', { allowed_tools: ['a'], disallowed_tools: ['a'] }, { a: off }, 'off'],
  ['GitHub Copilot', { tools: ['a', 'b'] }, { a: on, b: on }, 'off'],
  ['all of Copilot’s', { tools: ['*'] }, undefined, undefined],
  ['none of Copilot’s', { tools: [] }, undefined, 'off'],
  ['Hermes', { tools: { include: 'a', exclude: ['b'], prompts: false } }, { a: on, b: off }, 'off'],
  ['OpenClaw, which leaves nothing out', { toolFilter: { include: ['a'], exclude: [] } }, { a: on }, 'off'],
  ['mcp-proxy that allows', { options: { toolFilter: { mode: 'allow', list: ['a'] } } }, { a: on }, 'off'],
  ['mcp-proxy that blocks', { options: { toolFilter: { mode: 'block', list: ['a'] } } }, { a: off }, undefined],
  ['two lists: a tool has to be in both', { includeTools: ['a', 'b'], tools: ['b', 'c'] }, { b: on }, 'off'],
  [
    'a list beside overrides, which keep what else they say',
    { includeTools: ['a'], tools: { a: { name: 'x' }, b: { enabled: true }, c: { enabled: false } } },
    { a: { enabled: true, name: 'x' }, b: off, c: off },
    'off',
  ],
  ['a list that an override contradicts', { includeTools: ['a'], tools: { a: off } }, { a: off }, 'off'],
  ['our own field', { toolsDefault: 'off', tools: { a: on } }, { a: on }, 'off'],
  [
    'Claude Code, by its names',
    { allowedTools: ['mcp__s__a', 'b'], disallowedTools: ['mcp__s__c'] },
    { a: on, b: on, c: off },
    'off',
  ],
  ['Claude Code’s whole server', { disallowedTools: ['mcp__s__*'] }, undefined, 'off'],
  ['another server of Claude Code', { disallowedTools: ['mcp__st__a'] }, { mcp__st__a: off }, undefined],
  ['what is no list', { includeTools: 'a', disabledTools: 7, toolFilter: [] }, undefined, undefined],
])('readServerEntry() reads the lists of tools of %s', (_whose, entry, tools, byDefault) => {
  expect(read(entry)).toEqual({ tools: tools as never, byDefault, warnings: [] })
})

test('readServerEntry() names patterns, and switches nothing on by them', () => {
  const { tools, byDefault, warnings } = read({ includeTools: ['get_*', 'a'], excludeTools: ['rm_?'] })
  expect([tools, byDefault]).toEqual([{ a: on }, 'off'])
  expect(warnings).toEqual([expect.stringContaining('"get_*"'), expect.stringContaining('"rm_?"')])
})
