import type { JsonObject } from 'patchbay/contract'

/** The tool with which a client reads the omitted part of a truncated result; listed only in groups with a result limit. */
export const READ_RESULT = 'patchbay_read_result'

/** The tool's definition as `tools/list` shows it. */
export const READ_RESULT_ITEM: JsonObject = {
  name: READ_RESULT,
  description: 'Reads on in a result that was cut because it was long. Takes the handle that stands where it was cut.',
  inputSchema: { type: 'object', properties: { handle: { type: 'string' } }, required: ['handle'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
}
