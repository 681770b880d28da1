/** What the hub says of errors, in Chinese, by its stable codes. */
export { fields } from './fields.ts'
export { hints } from './hints.ts'
export { titles } from './titles.ts'
