/** Chinese for what the store of log records says to people. */
export const words = {
  'The history is not available': '历史记录不可用',
  'Try again in a moment; the log says why the history failed.': '请稍后重试；日志会说明原因。',
}
