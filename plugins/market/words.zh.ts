/** Chinese for the titles and remedies of the market's errors. */
export const words: Readonly<Record<string, string>> = {
  'No such template': '没有这个模板',
  'GET /api/market/templates lists them.': '来源可能尚未读取；请查看市场。',
  'No such source of templates': '没有这个模板来源',
  'GET /api/market/sources lists them.': '请在市场中查看来源。',
  'The market is switched off': '市场已关闭',
  'Ask an administrator: PATCH /api/admin/settings with marketEnabled, or MARKET_ENABLED, switches it on.':
    '请管理员在设置中启用市场。',
  'There is no version to change to': '没有可更换的版本',
  'GET /api/market/updates lists the servers that can be changed to another version.':
    '仅能更换从市场安装且有其他版本的服务器。',
  'The template cannot be installed': '模板无法安装',
  'Choose another variant; the template says why this one cannot be used.': '请选择其他方式安装。',
  'The list of templates is not available': '模板列表不可用',
  'Try again in a moment; GET /api/market/sources says what is wrong with the source.':
    '请稍后重试；市场的来源列表会说明原因。',
}
