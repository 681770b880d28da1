/**
 * Functions of the hub that plugins share with it, as `patchbay/plugin-kit`: texts as they are shown, names, errors of fields,
 * fields of routes, templates of servers, rules and settings beside things of the hub, and work of its own that is shown before it is done.
 */

export { hasAnyTag } from '../domain/groups/tags.ts'
export { isBlank } from '../domain/json/blank.ts'
export { canonical } from '../domain/json/canonical-json.ts'
export { guardJson } from '../domain/json/json-guard.ts'
export { pointerToken, valueAt } from '../domain/json/json-pointer.ts'
export { checkName, formatRef, isNameProblem, nameKey, quoteName } from '../domain/names.ts'
export { nextTurn } from '../domain/next-turn.ts'
export { keysBehind } from '../domain/ownership.ts'
export { checkHeaders } from '../domain/server/address.ts'
export { readPackageRun } from '../domain/server/package-run.ts'
export { PROGRAM_FOLDER } from '../domain/server/programs.ts'
export { looksMasked, maskSecret } from '../domain/server/secrets.ts'
export { WORK_FOLDER } from '../domain/server/spawn-policy.ts'
export { entered, fillVariant, usedInputs } from '../domain/templates/fill.ts'
export { goneName, serverJsonTemplate } from '../domain/templates/server-json.ts'
export type { ServerTemplate, TemplateInput, TemplateVariant } from '../domain/templates/types.ts'
export { fitsGlob } from '../domain/text/glob.ts'
export { hasHidden, visibleName, visibleText } from '../domain/text/visible-text.ts'
export { MOST_ERRORS, validationError } from '../domain/validation-error.ts'
export {
  anyJson,
  anyObject,
  exampleList,
  flag,
  limitedRecord,
  listOf,
  pageFields,
  pageQuery,
  refParams,
  timestamp,
} from '../http/routes/schemas.ts'
export { serverLabels } from '../http/routes/server-labels.ts'
export {
  asksForOwn,
  covered,
  durationField,
  rangeField,
  readRange,
  readStep,
  scopeField,
} from '../http/routes/time-range.ts'
export { wrong } from '../http/routes/wrong-field.ts'
export { OneAtATime } from '../moving/one-at-a-time.ts'
export { webFetch } from '../outbound/web-fetch.ts'
export { type Draft, type Planned, plannedByReading } from '../plans/planned.ts'
export { checked } from './checked.ts'
export { fieldTexts } from './field-texts.ts'
export { requireSignIn, StatedSettings } from './stated-settings.ts'
export { tagsField } from './tags-field.ts'
