//! What of a text identifies a person, and what only looks like it.

use djinn_text::masking::mask_pii;
use proptest::prelude::*;

/// What is masked, with the stars.
const MASKED: &[(&str, &str)] = &[
    // E-mail addresses.
    ("Write to anna@example.com.", "Write to ****@*******.***."),
    ("<a.b+news_1%x-y@mail.example.co.uk>", "<*.**********-*@****.*******.**.**>"),
    ("邮箱anna@例.cn，anna@qq.com。", "邮箱anna@例.cn，****@**.***。"),
    ("mailto:anna@example.com?subject=x", "mailto:****@*******.***?subject=x"),
    ("{\"email\":\"a@b.io\",\"n\":1}", "{\"email\":\"*@*.**\",\"n\":1}"),
    ("1,a@b.io,2", "1,*@*.**,2"),
    ("13812345678@qq.com", "***********@**.***"),
    ("a@b.com-and a@b.com/x a@b.com_x", "*@*.***-and *@*.***/x *@*.***_x"),
    ("anna@example.com:secret", "****@*******.***:secret"),
    // International phone numbers.
    ("+14155552671", "+***********"),
    ("+1 (415) 555-2671 2024", "+* (***) ***-**** 2024"),
    ("+1-415-555-2671", "+*-***-***-****"),
    ("call +44 20 7946 0958.", "call +** ** **** ****."),
    ("tel:+49.30.123456", "tel:+**.**.******"),
    ("(+86)13812345678", "(+**)***********"),
    ("(+86) 138-1234-5678 30", "(+**) ***-****-**** 30"),
    ("+44 20 7946 0958 3rd floor", "+** ** **** **** 3rd floor"),
    // Mobile numbers of mainland China.
    ("13812345678", "***********"),
    ("电话13812345678，或19912345678", "电话***********，或***********"),
    ("138 1234 5678, 138-1234-5678, 138 12345678", "*** **** ****, ***-****-****, *** ********"),
    (
        "8613812345678 / 86-13812345678 / 0086 138 1234 5678",
        "************* / **-*********** / **** *** **** ****",
    ),
    ("**13812345678** 13812345678.0", "*************** ***********.0"),
    ("phone=13812345678&x=1", "phone=***********&x=1"),
    ("7,13812345678,8\n13912345678", "7,***********,8\n***********"),
    ("12 13812345678", "12 ***********"),
    // ID numbers.
    ("440524188001010014 110101199003071233", "****************** ******************"),
    ("身份证号：11010519491231002X。", "身份证号：******************。"),
    ("31010119850111004x", "******************"),
    ("SSN 078-05-1120.", "SSN ***-**-****."),
    // Cards.
    ("4111111111111111", "****************"),
    ("4111 1111 1111 1111 is Visa's", "**** **** **** **** is Visa's"),
    ("5555-5555-5555-4444", "****-****-****-****"),
    ("3782 822463 10005", "**** ****** *****"),
    ("378282246310005, 30569309025904", "***************, **************"),
    ("4222222222222", "*************"),
    ("6212 3456 7890 1232", "**** **** **** ****"),
    ("6222020200012345678", "6222020200012345678"),
    ("6222021234567890128", "*******************"),
    ("622202 1234567890128", "****** *************"),
    ("2221000000000009", "****************"),
    ("42 4111 1111 1111 1111 7", "42 **** **** **** **** 7"),
    ("1,4111111111111111,2", "1,****************,2"),
    // In full width, and in part.
    ("１３８１２３４５６７８", "＊＊＊＊＊＊＊＊＊＊＊"),
    ("电话：１３８－１２３４－５６７８。", "电话：＊＊＊－＊＊＊＊－＊＊＊＊。"),
    ("138１２３４5678，4111", "***＊＊＊＊****，4111"),
    ("ａｎｎａ＠ｑｑ．ｃｏｍ", "＊＊＊＊＠＊＊．＊＊＊"),
    ("１１０１０１１９９００３０７１２３３", "＊＊＊＊＊＊＊＊＊＊＊＊＊＊＊＊＊＊"),
    // Around URLs, and never in them.
    (
        "https://a.example/u/13812345678?to=a@b.io 13812345678",
        "https://a.example/u/13812345678?to=a@b.io ***********",
    ),
    ("(http://h/4111111111111111) 078-05-1120", "(http://h/4111111111111111) ***-**-****"),
    ("https://h/x，１３８１２３４５６７８", "https://h/x，＊＊＊＊＊＊＊＊＊＊＊"),
    ("见https://h/x电话13812345678", "见https://h/x电话***********"),
];

/// Texts that masking leaves as they are.
const KEPT: &[&str] = &[
    "",
    "North grew by 12.5 % to 1,234,567.89 in 2024.",
    // Prices and amounts.
    "$13812345678 ¥13812345678 €4111111111111111 £13800138000 ￥13812345678",
    "0.13812345678 -122.4194155 3.14159265358979",
    "13,812,345,678",
    // Dates and times.
    "2026-11-21T18:23:57.123456789+08:00 20261121182357 1795219200000 1795219200000000000",
    "1732212345678 UTC+08:00 GMT+0800 2024-01-01 2024/01/01",
    // Order numbers, versions, ids and hashes.
    "#13812345678 ORD-13812345678 SO-2024-4111111111111111 A13812345678 13812345678B id_13812345678",
    "202411211234567890 2024112112345678 1234567890123456 4111111111111112",
    "9787302511625 978-7-302-51162-5",
    "550e8400-e29b-41d4-a716-446655440000 41111111-1111-4111-8111-111111111111",
    "d41d8cd98f00b204e9800998ecf8427e e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "0x4111111111111111 v1.3812345678.0 10.13.81.234",
    "12345678901 10012345678 1381234567 138123456789 138-12345-678 +0123456789",
    "+1234567 +12 % 3+4",
    // No such ids: a date, a check character, an area that does not exist.
    "110105194913310021 110105194912310022 11010519491231002Y 1101051949123100210",
    "000-12-3456 666-12-3456 900-12-3456 078-00-1120 078-05-0000 1078-05-1120 078-05-11201 078-05-1120-1",
    // No addresses.
    "git@github.com:org/repo.git @anna anna@localhost pkg@1.2.3 @scope/pkg@2.0.0 a @ b.com anna@ b.com ._@b.com a@b.c",
    "￥１３８１２３４５６７８ ＃１３８１２３４５６７８ Ａ１３８１２３４５６７８ １，２３４，５６７",
    "https://anna@example.com/13812345678 http://h/?card=4111111111111111&id=110105194912310021",
];

#[test]
fn personal_data_is_masked() {
    for (text, masked) in MASKED {
        assert_eq!(mask_pii(text), *masked, "{text}");
    }
}

#[test]
fn texts_that_only_look_like_personal_data_stay() {
    for text in KEPT {
        assert_eq!(mask_pii(text), *text);
        for word in text.split(' ') {
            assert_eq!(mask_pii(word), word);
        }
    }
}

#[test]
fn masking_takes_time_in_proportion_to_the_text() {
    for piece in
        ["1", "1 ", "1-", "a.", "@", "a@", "+1 ", "4111 1111 1111 1111 ", "a@b.", "(+86)138 "]
    {
        let text = piece.repeat(400_000 / piece.len());
        assert_eq!(mask_pii(&text).len(), text.len());
    }
    // 4 MB in all; a quadratic look at any of them takes hours.
}

/// A card whose check digit fits.
fn card() -> impl Strategy<Value = String> {
    "4[0-9]{14}|62[0-9]{13}|51[0-9]{13}|62[0-9]{16}".prop_map(|number| {
        let sum: u32 = number
            .bytes()
            .rev()
            .enumerate()
            .map(|(place, digit)| match (place % 2, u32::from(digit - b'0')) {
                (0, digit) => digit / 5 + digit * 2 % 10,
                (_, digit) => digit,
            })
            .sum();
        format!("{number}{}", (10 - sum % 10) % 10)
    })
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "1[3-9][0-9]{9}",
        "\\+(44|49|33|81)[1-9][0-9]{7,9}",
        "\\+1 \\([2-9][0-9]{2}\\) [0-9]{3}-[0-9]{4}",
        "[1-5][0-9]{2}-[1-9][0-9]-[1-9][0-9]{3}",
        "[a-z0-9]{1,12}@[a-z0-9]{1,8}\\.[a-z]{2,4}",
        card(),
    ]
}

/// Whatever these rules look at, in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[0-9]{1,6}",
        2 => "[ .+*@()_-]",
        1 => "[a-z]{1,3}|\\.com|http://|https://|见|\\$|#|\n",
        1 => secret(),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn masking_twice_is_masking_once_and_keeps_the_length(text in soup()) {
        let masked = mask_pii(&text).into_owned();
        prop_assert_eq!(mask_pii(&masked), masked.as_str());
        prop_assert_eq!(masked.len(), text.len());
        for (before, after) in text.chars().zip(masked.chars()) {
            prop_assert!(before == after || after == '*', "{text} -> {masked}");
        }
    }

    #[test]
    fn no_digit_and_no_letter_of_a_secret_is_left(
        secret in secret(),
        before in "([A-Za-z]{0,8}[ :,|(\n])?|电话|\\*\\*",
        after in "([ ,|)\n;][A-Za-z]{0,8})?|。|，",
    ) {
        let masked = mask_pii(&format!("{before}{secret}{after}")).into_owned();
        let rest = masked.strip_prefix(&before).and_then(|rest| rest.strip_suffix(&after));
        let rest = rest.unwrap_or(&masked);
        prop_assert!(!rest.bytes().any(|byte| byte.is_ascii_alphanumeric()), "{masked}");
    }

    #[test]
    fn words_without_digits_and_addresses_are_unchanged(text in "[a-zA-Z ,.;:()/见\n-]{0,200}") {
        prop_assert_eq!(mask_pii(&text), text.as_str());
    }
}
