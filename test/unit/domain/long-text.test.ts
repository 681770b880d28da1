import { expect, test } from 'bun:test'
import { arrayText, LongText, textWithin } from '../../../core/domain/json/long-text.ts'

const long = (text: string) => new LongText([Buffer.from(text)])

test('a long text within others shares its bytes, and reads as all of them', () => {
  const text = long('{"a":"ä"}')
  const within = textWithin('{"result":', text, '}')
  expect(within).toBeInstanceOf(LongText)
  expect(String(within)).toBe('{"result":{"a":"ä"}}')
  expect((within as LongText).parts[1]).toBe(text.parts[0])
  expect((within as LongText).byteLength).toBe(Buffer.byteLength('{"result":{"a":"ä"}}'))
})

test('an array is long where one of its texts is', () => {
  expect(arrayText(['1', '2'])).toBe('[1,2]')
  const array = arrayText(['1', long('"ä"'), '3'])
  expect(array).toBeInstanceOf(LongText)
  expect(String(array)).toBe('[1,"ä",3]')
})

test('includes() looks at the bytes of a part of a larger buffer alone', () => {
  const whole = Buffer.from('{"_meta":{}}{"a":1}')
  const text = new LongText([whole.subarray(12)])
  expect(text.includes('"a"')).toBe(true)
  expect(text.includes('_meta')).toBe(false)
})
