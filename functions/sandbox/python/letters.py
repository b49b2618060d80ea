"""Scores of letters as signs of a language, from -1 (the language has no such letter) to 1 (very common).

Each function receives a letter beyond ASCII with the previous and next characters.
"""

# The most common Chinese characters, then characters that are common in tables.
_SIMPLIFIED = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多"
    "经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性"
    "知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次"
    "度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建"
    "务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路"
    "记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运笔额售销购买卖价单款费税收支付客户订货库存商"
    "店地址姓号码编备注称型状态金融银行账余类别城省县镇村街京沪广深杭州苏江浙华川湖河福云贵津渝连港澳台湾评价内容温湿积湖测姓期日周季"
    "度总均占率比增减率环同合计小均差错好评满意赞般甲乙丙丁六七八九百千亿元角斤米吨件箱套台张次天时秒男女岁籍历职位部门经理负责审核批"
    "准申请通过联系电邮箱网站司限股份集团技术服务产品项目预算实际完毕未已否是开始结束早晚哪怎谁吗呢吧啊哦您让太快慢贵便宜质物流包装"
    "餐饮食美交易状态成功失败转账红包充值退款导出信息支宝微信钱零")
_TRADITIONAL = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡裏用道行所然家種事成方多"
    "經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性"
    "知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次"
    "度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建"
    "務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路"
    "記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運筆額售銷購買賣價單款費稅收支付客戶訂貨庫存商"
    "店址姓號碼編備註稱型狀態融銀帳餘城省縣鎮村街京廣州蘇江華川湖河福雲津連港澳台臺灣雄桃園竹基隆屏嘉義評容溫濕積測季均占率增減差錯"
    "滿讚般甲乙丙丁六七八九百千億元角斤噸箱套次秒男女歲籍歷職負責審核批准申請聯繫郵網站限股份集團技服務項預際畢未否始結束早晚誰嗎呢吧啊您太"
    "快慢貴便宜質流包裝餐飲食易功敗轉紅充值退零")
_KANJI = frozenset(
    "日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木"
    "聞食車何南万毎白天母火右読友左休父雨都市道府県区町村売上額備考商品番号数量単価合計顧客会社株式店住所氏電話新規得意様者田京阪横浜"
    "神戸名古屋福岡札幌仙台広島埼玉葉奈川愛知兵庫税込抜在庫注文支払請求担当部課員契約期限開始終了予定実績売買利益率平均最大小前年比項目"
    "種類別内容理由状況確認済未完発送受取返品振込銀行口座登録更新削除更作成者")
_HANGUL = frozenset(
    "이다의는에을가고를지하은서도한로사기대자리어인일정시들나수아해그스부전제과있라보원여장성상주니만우구소동적게생비안면치유조공학세용"
    "신국관경선연화기업물방호무명위문회민개금계교중내거입의미실재진운매출단골규액월년별총합계점남북강산광울종청전라충세반품번격량품명고객"
    "주소전화이름상태날짜결완료취소배송문의판매지역도시부서직급급여원천원개건율추모발표영식음포트터크드러져었습까요네오와")
_CYRILLIC_COMMON = frozenset("оеаинтсрвлкмдпуяызьбгчй")


def simplified(before, letter, after):
    """Returns the score in simplified Chinese."""
    return _han(before, letter, after, "gb2312", _SIMPLIFIED, 0xD8)


def traditional(before, letter, after):
    """Returns the score in traditional Chinese."""
    return _han(before, letter, after, "big5", _TRADITIONAL, 0xC7)


def japanese(before, letter, after):
    """Returns the score in Japanese."""
    if "\u3041" <= letter <= "\u30fe":
        return 1
    if "\uff61" <= letter <= "\uff9f":
        return 0.35
    if letter in _KANJI:
        return 0.9
    return _han(before, letter, after, "shift_jis", _TRADITIONAL, 0x98)


def korean(before, letter, after):
    """Returns the score in Korean."""
    if letter in _HANGUL:
        return 1
    if "\uac00" <= letter <= "\ud7a3":
        return 0.4 if _encode(letter, "euc_kr") else -0.3
    return 0.5 if _is_wide_mark(letter) else -0.3 if _encode(letter, "euc_kr") else -0.8


def latin(before, letter, after):
    """Returns the score in a language of western Europe."""
    if not letter.isalpha():
        return 0.5 if letter in "€£°§«»“”„‘’–—…·²³½ß\u00a0™©®´" else -0.5
    is_alone = not _is_ascii_letter(before) and not _is_ascii_letter(after)
    is_shouted = before.islower() and letter.isupper()
    return -0.5 if is_shouted else -0.3 if is_alone else 0.9 if letter in _ACCENTED else 0.2


_ACCENTED = frozenset("äöüÄÖÜßéèêëàâîïôùûçœæåøñáíóúãõìòÉÀÈÇÑÅØÆÓÁÍÚ")


def cyrillic(before, letter, after):
    """Returns the score in Russian and related languages."""
    if not "Ѐ" <= letter <= "ӿ":
        return 0.4 if letter in "№«»–—“”…\u00a0°" else -0.8
    if _is_ascii_letter(before) or _is_ascii_letter(after) or (before.islower() and letter.isupper()):
        return -0.5
    return 0.9 if letter.lower() in _CYRILLIC_COMMON else 0.4 if "а" <= letter.lower() <= "ё" else -0.3


def _han(before, letter, after, name, common, rare_from):
    """Returns the score of a Han character. `rare_from` is the first byte of an encoding's rarer characters."""
    if letter in common:
        return 1
    if _is_wide_mark(letter):
        return 0.7
    encoded = _encode(letter, name)
    if not encoded or not "\u4e00" <= letter <= "\u9fff":
        # In these encodings, a European letter uses the next letter as its second byte.
        return -0.8 if _is_ascii_letter(before) or _is_ascii_letter(after) or "\ue000" <= letter <= "\uf8ff" else 0
    return 0.4 if encoded[0] < rare_from else 0


def _is_wide_mark(letter):
    return letter in "、。〈〉《》「」『』【】〔〕　～！？％（），．：；＝＋－＊／＃＠￥…—·“”‘’℃㎡㎥㎏㎝㎜㎞①②③④⑤×÷±≤≥→←↑↓■□●○★☆№" or (
        "０" <= letter <= "ｚ")


def _encode(letter, name):
    try:
        return letter.encode(name)
    except UnicodeEncodeError:
        return b""


def _is_ascii_letter(letter):
    return "a" <= letter.lower() <= "z"
