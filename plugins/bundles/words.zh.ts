/** Chinese for the titles and remedies of the errors of bundles, and for the codes of fields. */
export const words: Readonly<Record<string, string>> = {
  'The bundle cannot be used': '扩展包无法使用',
  'Send a file that "mcpb pack" has made; the message says what is wrong with this one.':
    '请上传由 mcpb pack 生成的文件。',
  'No such bundle': '没有这个扩展包',
  'GET /api/bundles lists yours; POST /api/bundles takes its file.': '可能已被删除，请重新上传。',
  'The bundle cannot be installed': '扩展包无法安装',
  'Ask its authors for a bundle of this platform; the message says what is wrong.':
    '请向作者索取适用于此平台的扩展包。',
  'A server uses the bundle': '有服务器正在使用此扩展包',
  'Remove the servers that use it first; the message names one.': '请先删除使用它的服务器。',
  'Too many bundles': '扩展包过多',
  'Remove one with DELETE /api/bundles/{id}; GET /api/bundles says which are used.': '请先删除不用的扩展包。',
  'The bundle is too large': '扩展包过大',
  'Ask its authors for a smaller one; GET /api/limits says how much is taken.': '请向作者索取更小的扩展包。',
  bundle_missing: '服务器的所有者没有此扩展包',
}
