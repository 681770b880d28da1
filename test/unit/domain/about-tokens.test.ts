import { expect, test } from 'bun:test'
import { aboutTokens, quarterTokens, quarterTokensOfTool } from '../../../core/domain/tools/about-tokens.ts'

const about = (text: string): number => aboutTokens(quarterTokens(text))

test('four characters are about a token, one of Chinese, Japanese and Korean is one', () => {
  expect(about('')).toBe(0)
  expect(about('a')).toBe(1)
  expect(about('abcd')).toBe(1)
  expect(about('abcde')).toBe(2)
  expect(about('é'.repeat(8))).toBe(2)
  expect(about('读取文件')).toBe(4)
  expect(about('読む ひらがな カタカナ')).toBe(11)
  expect(about('한국어，。')).toBe(5)
  // Beyond the first plane, a Han character takes two code units and still counts as one token; two such emoji count as one.
  expect(about('𠀀𠀁')).toBe(2)
  expect(about('😀😀')).toBe(1)
  expect(about('read 文件')).toBe(4)
})

test('the parts of a tool that clients pass on count: name, description and inputSchema', () => {
  const tool = { name: 'read', description: '读取', inputSchema: { type: 'object' } }
  const text = JSON.stringify(tool)
  expect(quarterTokensOfTool(tool)).toBe(text.length - 2 + 8)
  const more = { title: 'Read', outputSchema: { type: 'object' }, annotations: { readOnlyHint: true }, _meta: { a: 1 } }
  expect(quarterTokensOfTool({ ...more, ...tool })).toBe(quarterTokensOfTool(tool))
})
