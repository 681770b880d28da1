import { afterEach, expect, test } from 'bun:test'
import { ERROR_CODES, FIELD_CODES } from '../../../core/contract/codes.ts'
import { REMEDIES } from '../../../core/contract/remedies.ts'
import { ApiError } from '../../../ui/api/problem.ts'
import * as chinese from '../../../ui/locales/zh/problems/mod.ts'
import { usePluginWords } from '../../../ui/text/plugin-words.ts'
import {
  fieldsText,
  fieldText,
  hintText,
  ownWords,
  problemLine,
  problemText,
  useProblemTexts,
} from '../../../ui/text/problem.ts'

afterEach(() => useProblemTexts(undefined))

const HAN = /[\u3400-\u9fff]/
/** Members that problems have beside the usual ones, as `ErrorData` of the contract has them, and the hub's sentence. */
const MEMBERS = [
  ...['detail', 'line', 'column', 'uri', 'candidates', 'allow', 'maxBytes', 'missing', 'supported', 'changedBy'],
]

test.each([
  ['titles', ERROR_CODES, chinese.titles],
  ['hints', REMEDIES, chinese.hints],
  ['fields', FIELD_CODES, chinese.fields],
] as const)('Chinese %s: each stable code has a text, and no code that is gone', (_name, codes, texts) => {
  expect(Object.keys(texts).sort()).toEqual(Object.keys(codes).sort())
  expect(Object.entries(texts).filter(([, text]) => !HAN.test(text))).toEqual([])
})

test('the places of the Chinese texts are members that problems have', () => {
  const texts = [...Object.values(chinese.titles), ...Object.values(chinese.hints), ...Object.values(chinese.fields)]
  const places = texts.flatMap(text => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))
  expect(places.filter(name => !MEMBERS.includes(name))).toEqual([])
  expect(Object.values(chinese.hints).filter(text => /[{[]/.test(text))).toEqual([chinese.hints.json_not_object])
})

const TAKEN = new ApiError(409, {
  ...{ code: 'server_name_taken', title: 'Server name already used', requestId: 'r1' },
  ...{ detail: 'You already own a server "github"', hint: 'Choose another name or edit the existing server.' },
})

test('in English the hub speaks for itself', () => {
  expect(problemText(TAKEN)).toBe('You already own a server "github"')
  expect(hintText(TAKEN)).toBe('Choose another name or edit the existing server.')
  expect(problemLine(TAKEN)).toBe('You already own a server "github". Choose another name or edit the existing server.')
  expect(fieldText({ code: 'required', detail: '"name" is missing' })).toBe('"name" is missing')
  expect([ownWords(TAKEN), fieldsText(TAKEN)]).toEqual([undefined, undefined])
})

test('in Chinese a problem is said by its code, and the sentence of the hub stays within reach', () => {
  useProblemTexts(chinese)
  expect(problemText(TAKEN)).toBe('服务器名称已被使用')
  expect(problemLine(TAKEN)).toBe('服务器名称已被使用。请换个名称，或编辑已有的服务器。')
  expect(ownWords(TAKEN)).toBe('You already own a server "github"\nChoose another name or edit the existing server.')
})

test('values of the problem are in its Chinese text, and a part whose value is not there is left out', () => {
  useProblemTexts(chinese)
  const json = (body: object): string => problemText(new ApiError(400, { code: 'json_invalid', ...body }))
  expect(json({ line: 3, column: 14 })).toBe('内容不是有效的 JSON（第 3 行，第 14 列）')
  expect(json({ line: 3 })).toBe('内容不是有效的 JSON')
  const ambiguous = { code: 'server_ambiguous', candidates: ['ann~git', 'bob~git'] }
  expect(problemText(new ApiError(409, ambiguous))).toBe('有多个服务器使用此名称：ann~git、bob~git')
  const failed = new ApiError(400, { code: 'spawn_failed', detail: 'HTTP 500 [x] {detail}' })
  expect(problemText(failed)).toBe('进程无法启动：HTTP 500 [x] {detail}')
  expect(ownWords(failed)).toBeUndefined()
})

test('a code that this console does not know is shown in the words of the hub', () => {
  useProblemTexts(chinese)
  const later = new ApiError(418, { code: 'of_a_later_hub', detail: 'Something new', hint: 'Do it' })
  expect([problemText(later), hintText(later), ownWords(later)]).toEqual(['Something new', 'Do it', undefined])
  expect(fieldText({ code: 'of_a_later_hub', detail: 'is odd' })).toBe('is odd')
})

test('wrong fields are named, three at most', () => {
  useProblemTexts(chinese)
  const errors = ['#/name', '?limit', '#', '#/url'].map(pointer => ({ pointer, code: 'required', detail: 'missing' }))
  expect(fieldsText(new ApiError(400, { errors }))).toBe('name 必填；limit 必填；必填…')
})

test('an error of a plugin is Chinese by the words that the plugin brings', () => {
  const full = {
    code: 'library_full',
    message: 'You have 3 books',
    hint: 'Remove a book first.',
    body: { title: 'The library is full' },
  }
  usePluginWords({ 'The library is full': '书库已满', 'Remove a book first.': '请先移除一本书。' })
  try {
    expect(problemLine(full)).toBe('You have 3 books. Remove a book first.')
    useProblemTexts(chinese)
    expect(problemLine(full)).toBe('书库已满（You have 3 books）。请先移除一本书。')
    expect(problemText({ ...full, message: 'The library is full' })).toBe('书库已满')
    // Names of members that every object has are no words.
    expect(problemText({ code: 'library_full', message: 'constructor' })).toBe('constructor')
  } finally {
    usePluginWords({})
  }
})
