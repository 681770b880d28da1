/** Texts of errors in Chinese, by their stable codes. */
export { fields } from './fields.ts'
export { hints } from './hints.ts'
export { titles } from './titles.ts'
